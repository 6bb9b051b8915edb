"""Questions on recordings, with answers by brute force."""

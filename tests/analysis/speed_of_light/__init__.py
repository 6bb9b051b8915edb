"""Speed of light."""

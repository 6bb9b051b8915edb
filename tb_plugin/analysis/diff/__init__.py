"""What changed between two recordings, by how much, and how sure is that?"""

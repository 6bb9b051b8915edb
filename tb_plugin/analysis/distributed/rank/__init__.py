"""What is kept of one rank, and how is it made from its trace?"""

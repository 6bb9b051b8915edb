"""Several ranks of one job: which makes the others wait, and why?"""

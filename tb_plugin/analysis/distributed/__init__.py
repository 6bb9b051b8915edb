"""Several ranks of one job: who makes the others wait, and why?"""

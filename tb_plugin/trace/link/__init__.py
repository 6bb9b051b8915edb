"""Links between tables: launches, flows, steps, collectives, forward and backward."""

"""What did a device wait for? Idle stretches, who held them, and their causes."""

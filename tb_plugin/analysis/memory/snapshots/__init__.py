"""What does a memory snapshot say of the allocator: what it held, why it failed, what changed?"""

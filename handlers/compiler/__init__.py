"""What torch.compile did in the training: recorded beside each trace."""

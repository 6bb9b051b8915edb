"""Record of torch.compile in the training, beside each trace."""

"""The stored columns of the timeline, made once per trace."""

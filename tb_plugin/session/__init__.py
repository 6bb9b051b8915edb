"""Sessions: the one way to open a trace, for the server, the command line and the library."""

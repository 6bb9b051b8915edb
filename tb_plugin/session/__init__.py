"""Opening a trace: one way for the server, the command line and the library."""

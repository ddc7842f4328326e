"""The command line: the same engine and the same decoding that the pages use."""

"""A session on this machine: Java, logging, and the noise of both."""

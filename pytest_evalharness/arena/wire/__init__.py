"""The league over HTTP: the wire contract of the hosted service, and the process that serves it."""

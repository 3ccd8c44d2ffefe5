"""Run-based parallelism measured (RIP, DEBS 2013): the paper's variants over one kernel, the library beside them."""

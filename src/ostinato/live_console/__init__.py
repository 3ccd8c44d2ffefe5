"""The live console: a local web page that shows a running stream. It reads files, and starts no Spark job."""

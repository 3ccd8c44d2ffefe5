"""Where results go: files of JSON lines, webhooks, and tables merged by key. For any DataFrame, batch or streaming."""

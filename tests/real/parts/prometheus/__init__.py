"""PromQL over samples that were really scraped, and rules judged by promtool."""

"""What the engine costs, measured side by side with what it is compared to, as ratios within one run."""

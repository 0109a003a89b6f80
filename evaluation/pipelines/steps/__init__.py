"""The steps that make research material, one file each."""

"""What any feature asks with: yes or no, one of many, an approval."""

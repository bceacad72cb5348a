/** Of `source list` and `udm sources`, in the help. */
export const sourceListDescription = "list the sources of metadata with their state and their last run";

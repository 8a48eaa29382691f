/** What a manifest asks for beside what the checkpoint holds: the answer to "what is left to do". */

export interface Plan {
  /** Rows whose id the batch has not seen before. */
  added: number;
  /** Rows whose input was edited: rendered again, the old picture kept. */
  changed: number;
  /** Rows that the batch knows with this very input. */
  unchanged: number;
  /** Scenes that are no longer in the manifest, since this run. */
  withdrawn: number;
}

/** What the page of the report is given: in the page itself, and in the chunks of rows that it loads. */

/** In the page, as JSON. */
export interface GalleryData {
  /** What it is a report of, for the title. */
  title: string;
}

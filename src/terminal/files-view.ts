/** What `report` shows: the files that were written, and what was made for the gallery. */
import { clearStatus, writeError, writeOut, writeStatus } from './console.ts';
import { writeJsonLine } from './json-lines.ts';
import { plural } from './words.ts';

export interface FilesView {
  tellProgress(made: number): void;
  /** `thumbnails` are absent where none were wanted. */
  end(files: string[], thumbnails?: { made: number; lacking: number }): void;
}

export interface FilesViewOptions {
  json: boolean;
  /** The pipeline.yaml, as it was given. */
  file: string;
  /** Monotonic ms. */
  elapsed: () => number;
}

const progressEveryMs = 500;

export function createFilesView({ json, file, elapsed }: FilesViewOptions): FilesView {
  let shownElapsed = elapsed();
  return {
    tellProgress: (made) => {
      if (json || elapsed() - shownElapsed < progressEveryMs) return;
      shownElapsed = elapsed();
      writeStatus(`${plural(made, 'thumbnail')} made`);
    },
    end: (files, thumbnails) => {
      if (json) return writeJsonLine('files-written', { files, ...(thumbnails && { thumbnails }) });
      clearStatus();
      for (const each of files) writeOut(each);
      // Beside the paths, which scripts read.
      if (thumbnails !== undefined && thumbnails.made > 0)
        writeError(
          `${plural(thumbnails.made, 'thumbnail')} made that ${thumbnails.made === 1 ? 'was' : 'were'} missing.`,
        );
      if (thumbnails !== undefined && thumbnails.lacking > 0)
        writeError(
          `${plural(thumbnails.lacking, 'picture has', 'pictures have')} no thumbnail, most likely since the picture is missing or damaged: \`nightrender verify ${file}\` tells.`,
        );
    },
  };
}

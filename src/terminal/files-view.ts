/** What `report` shows: the files that were written, and what was made that was missing. */
import { clearStatus, writeError, writeOut, writeStatus } from './console.ts';
import { writeJsonLine } from './json-lines.ts';
import { plural } from './words.ts';

interface Made {
  made: number;
  lacking: number;
}

/** Each is absent where none are wanted. */
interface MadeFiles {
  thumbnails?: Made;
  copies?: Made;
}

export interface FilesView {
  onProgress: (what: keyof MadeFiles, made: number) => void;
  warn: (text: string) => void;
  end: (files: string[], made: MadeFiles) => void;
}

export interface FilesViewOptions {
  json: boolean;
  /** What follows `nightrender verify` for this batch. */
  file: string;
  /** Monotonic ms. */
  elapsed: () => number;
}

const progressEveryMs = 500;

export function createFilesView({ json, file, elapsed }: FilesViewOptions): FilesView {
  let shownElapsed = elapsed();
  return {
    onProgress: (what, made) => {
      if (json || elapsed() - shownElapsed < progressEveryMs) return;
      shownElapsed = elapsed();
      writeStatus(`${what} created for ${plural(made, 'picture')}`);
    },
    // Beside the paths, which scripts read.
    warn: (text) => {
      if (json) return writeJsonLine('warning', { text });
      clearStatus();
      writeError(text);
    },
    end: (files, made) => {
      if (json) return writeJsonLine('files-written', { files, ...made });
      clearStatus();
      for (const each of files) writeOut(each);
      for (const line of describe('thumbnail', made.thumbnails, file)) writeError(line);
      for (const line of describe('copies', made.copies, file)) writeError(line);
    },
  };
}

function describe(what: 'thumbnail' | 'copies', made: Made | undefined, file: string): string[] {
  const { made: count, lacking } = made ?? { made: 0, lacking: 0 };
  const thing = what === 'thumbnail' ? 'no thumbnail' : 'not all copies';
  return [
    ...(count > 0
      ? [`Missing ${what === 'thumbnail' ? 'thumbnails' : what} created for ${plural(count, 'picture')}.`]
      : []),
    ...(lacking > 0
      ? [
          `${plural(lacking, 'picture has', 'pictures have')} ${thing}: the picture is missing or damaged (\`nightrender verify ${file}\`), or the file cannot be created.`,
        ]
      : []),
  ];
}

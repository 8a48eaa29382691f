/** The page of an exported gallery: pictures to look at and star, for somebody who has nothing but the folder. */
import { render, type JSX, type TargetedKeyboardEvent } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Album, AlbumEntry } from '../../runner/core/gallery-data.ts';
import { nounFor } from '../../runner/core/picture.ts';
import { ClipPlayer, togglePlayer } from '../shared/clip-player.tsx';
import { Dialog } from '../shared/dialog.tsx';
import { clipOf, type ShownClip } from '../shared/grid-picture.ts';
import { useSwipe } from '../shared/hooks.ts';
import { counted, countWords } from '../shared/number-words.ts';
import { PictureGrid } from '../shared/picture-grid.tsx';
import { downloadLines } from '../shared/text.tsx';

/** Number of pictures that are added when the end of the page comes into view. */
const step = 120;

function AlbumPage({ album: { title, key, pictures } }: { album: Album }): JSX.Element {
  const [stars] = useState(() => new Stars(key));
  const [isChosen, setChosen] = useState(false);
  const [most, setMost] = useState(step);
  // The order stays while a picture is open, also if it loses its star.
  const [open, setOpen] = useState<{ order: AlbumEntry[]; at: number }>();
  const entry = open?.order[open.at];
  useNews(stars);
  const noun = nounFor({
    files: pictures.length,
    clips: pictures.filter(({ clip }) => clip !== undefined).length,
  });
  const starred = [...new Set(pictures.map(({ id }) => id))].filter((id) => stars.has(id));
  const listed = useMemo(
    () => (isChosen ? pictures.filter(({ id }) => stars.has(id)) : pictures),
    [isChosen && starred.join('\n')],
  );
  // Thousands of pictures are not drawn anew for one star.
  const grid = useMemo(
    () => (
      <PictureGrid
        pictures={listed.slice(0, most).map((each, index) => ({
          key: `${index} ${each.file}`,
          sources: [each.thumbnail, each.file].flatMap((path) => (path === undefined ? [] : addressOf(path))),
          clip: clipIn(each),
          alt: each.text,
          caption: '',
          prompt: each.text,
          id: each.id,
          state: 'saved',
          word: '',
          badge: '',
          ...(each.width > 0 && { size: each }),
        }))}
        isSharp
        onOpen={(at) => setOpen({ order: listed, at })}
        extra={({ id = '' }) => <StarButton stars={stars} id={id} />}
      />
    ),
    [listed, most],
  );
  return (
    <>
      <header class="row">
        <h1>
          <bdi>{title}</bdi> <small>{counted(pictures.length, noun)}</small>
        </h1>
        <button
          type="button"
          class="star"
          aria-pressed={isChosen}
          disabled={starred.length === 0 && !isChosen}
          onClick={() => {
            setChosen(!isChosen);
            setMost(step);
          }}
        >
          ★ {countWords(starred.length)} starred
        </button>
        {starred.length > 0 && (
          <button type="button" class="primary" onClick={() => downloadLines('starred.txt', starred)}>
            Download list
          </button>
        )}
      </header>
      <p class="hint">
        {stars.isKept
          ? `Star the ${noun}s that you want, and send the downloaded list back. Your stars stay in this browser.`
          : 'This browser keeps no stars: download the list before you leave.'}
      </p>
      <main>
        {listed.length === 0 && <p class="soft">No {noun} is starred.</p>}
        {grid}
        {most < listed.length && <More onMore={() => setMost(most + step)} />}
      </main>
      {open !== undefined && entry !== undefined && (
        <Viewer
          entry={entry}
          place={`${countWords(open.at + 1)} of ${countWords(open.order.length)}`}
          stars={stars}
          onStep={(by) => setOpen((before) => before && entryAt(before, before.at + by))}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

function clipIn({ file, thumbnail, width, height, clip }: AlbumEntry): ShownClip | undefined {
  const { bytes = 0, ...facts } = clip ?? {};
  const poster = thumbnail === undefined ? undefined : addressOf(thumbnail);
  const name = file.replace(/^pictures\//, '');
  return clipOf({ source: addressOf(file), poster, name, width, height, bytes, facts });
}

function StarButton({ stars, id }: { stars: Stars; id: string }): JSX.Element {
  useNews(stars, id);
  return (
    <button
      type="button"
      class="star"
      aria-label="Star"
      aria-pressed={stars.has(id)}
      onClick={() => stars.toggle(id)}
    >
      ★
    </button>
  );
}

/** Asks for more pictures when it comes into view. A click does the same. */
function More({ onMore }: { onMore(): void }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (seen) => seen.some((each) => each.isIntersecting) && onMore(),
      {
        rootMargin: '600px',
      },
    );
    if (button.current !== null) observer.observe(button.current);
    return () => observer.disconnect();
  });
  return (
    <button type="button" ref={button} onClick={onMore}>
      Show more
    </button>
  );
}

/** Stays at the first and at the last picture. */
function entryAt(open: { order: AlbumEntry[]; at: number }, at: number): { order: AlbumEntry[]; at: number } {
  return open.order[at] === undefined ? open : { ...open, at };
}

interface ViewerProps {
  entry: AlbumEntry;
  place: string;
  stars: Stars;
  onStep(by: number): void;
  onClose(): void;
}

const keys: Record<string, 'before' | 'next' | 'star'> = {
  arrowleft: 'before',
  arrowright: 'next',
  s: 'star',
};

function Viewer({ entry, place, stars, onStep, onClose }: ViewerProps): JSX.Element {
  const clip = clipIn(entry);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDialogElement>): void => {
    const { key, target, currentTarget, altKey, ctrlKey, metaKey } = event;
    if (altKey || ctrlKey || metaKey) return;
    if (key === ' ' && target === currentTarget && togglePlayer(currentTarget)) event.preventDefault();
    // A player that has the focus moves within its clip.
    if (key.startsWith('Arrow') && target instanceof HTMLMediaElement) return;
    const does = keys[key.toLowerCase()];
    if (does === 'star') stars.toggle(entry.id);
    else if (does !== undefined) onStep(does === 'next' ? 1 : -1);
  };
  return (
    <Dialog
      title={<bdi>{entry.text}</bdi>}
      attributes={{ class: 'viewer', autofocus: true, onKeyDown }}
      onClose={onClose}
      bar={
        <>
          <small>{place}</small>
          <StarButton key={entry.id} stars={stars} id={entry.id} />
          <button type="button" aria-label="Previous" onClick={() => onStep(-1)}>
            ←
          </button>
          <button type="button" aria-label="Next" onClick={() => onStep(1)}>
            →
          </button>
          <button type="button" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </>
      }
    >
      <figure {...useSwipe(onStep)}>
        {clip === undefined ? (
          <img key={entry.file} src={addressOf(entry.file)} alt={entry.text} />
        ) : (
          <ClipPlayer clip={clip} alt={entry.text} />
        )}
      </figure>
    </Dialog>
  );
}

/** Ids of starred scenes, in the order in which they were starred, kept in this browser. */
class Stars {
  /** False if the browser refuses to store them: they are lost with the page. */
  isKept = true;
  readonly #name: string;
  #ids: ReadonlySet<string> = new Set();
  readonly #listeners = new Set<() => void>();

  constructor(key: string) {
    this.#name = `stars ${key}`;
    this.#read();
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  toggle(id: string): void {
    // Another tab may have changed them.
    this.#read();
    this.#ids = new Set(this.has(id) ? [...this.#ids].filter((each) => each !== id) : [...this.#ids, id]);
    try {
      localStorage.setItem(this.#name, JSON.stringify([...this.#ids]));
    } catch {
      this.isKept = false;
    }
    for (const listener of this.#listeners) listener();
  }

  /** Calls the listener after each change. Returns a function that ends that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #read(): void {
    if (!this.isKept) return;
    try {
      this.#ids = new Set(JSON.parse(localStorage.getItem(this.#name) ?? '[]') as string[]);
    } catch {
      this.isKept = false;
    }
  }
}

/** Renders again after each change of the stars, or of the star of one scene. */
function useNews(stars: Stars, id?: string): void {
  const [, setNews] = useState<unknown>(() => id !== undefined && stars.has(id));
  // A state that is the same renders nothing.
  useEffect(() => stars.listen(() => setNews(id === undefined ? {} : stars.has(id))), [stars, id]);
}

/** Encodes each part, because names may contain `#`, `?` and `%`. */
function addressOf(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

// Last, because the page needs the constants and the class above.
const root = document.querySelector('#page');
const text = document.querySelector('#data')?.textContent;
if (root !== null && text !== undefined) render(<AlbumPage album={JSON.parse(text) as Album} />, root);

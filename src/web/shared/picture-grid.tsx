/** A grid of pictures, each a button that opens it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GridPicture } from './grid-picture.ts';
import { toneOf } from './tone.ts';

interface Props {
  pictures: GridPicture[];
  isSmall?: boolean;
  onOpen(index: number): void;
}

export function PictureGrid({ pictures, isSmall = false, onOpen }: Props): JSX.Element {
  return (
    <ul class="pictures">
      {pictures.map((picture, index) => (
        <li key={picture.key}>
          <button type="button" class="picture" data-key={picture.key} onClick={() => onOpen(index)}>
            <span class="frame">
              <Image {...picture} />
              {picture.badge !== '' && <span class="badge">{picture.badge}</span>}
            </span>
            {!isSmall && <bdi class="caption">{picture.caption}</bdi>}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Goes on to the next address where one does not load, and says so where none does. */
export function Image({
  sources,
  alt,
  state,
  word,
  size,
}: Pick<GridPicture, 'sources' | 'alt' | 'state' | 'word' | 'size'>): JSX.Element {
  const first = sources[0];
  const [tried, setTried] = useState({ first, failures: 0 });
  const failures = tried.first === first ? tried.failures : 0;
  const source = sources[failures];
  if (source === undefined)
    return (
      <span class={`word ${toneOf(state) ?? ''}`}>
        <span class="unseen">{alt}: </span>
        {sources.length > 0 ? 'the file is gone' : word}
      </span>
    );
  return (
    <img
      key={source}
      src={source}
      alt={alt}
      {...size}
      loading="lazy"
      decoding="async"
      onError={() => setTried({ first, failures: failures + 1 })}
    />
  );
}

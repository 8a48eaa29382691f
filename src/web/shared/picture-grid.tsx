/** Rows of whole pictures, each a button that opens it. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GridPicture } from './grid-picture.ts';
import { toneOf } from './tone.ts';

interface Props {
  pictures: GridPicture[];
  isSmall?: boolean;
  onOpen(index: number): void;
  /** What belongs to a picture besides. */
  extra?(picture: GridPicture): ComponentChildren;
}

/** Of the last row, so that its pictures are no larger than the others. */
const fillers = 10;

/** Pictures of a row are equally high and fill it. */
export function PictureGrid({ pictures, isSmall = false, onOpen, extra }: Props): JSX.Element {
  const last = pictures.at(-1);
  return (
    <ul class="pictures">
      {pictures.map((picture, index) => (
        <li key={picture.key} data-scene={picture.id} style={{ '--ratio': ratioOf(picture) }}>
          <button type="button" class="picture" data-key={picture.key} onClick={() => onOpen(index)}>
            <span class="frame">
              <Image {...picture} />
              {picture.badge !== '' && <span class="badge">{picture.badge}</span>}
            </span>
            {!isSmall && picture.prompt !== '' && (
              <span class="words" dir="auto">
                {picture.prompt}
              </span>
            )}
            {!isSmall && <bdi class="caption">{picture.caption}</bdi>}
          </button>
          {extra?.(picture)}
        </li>
      ))}
      {!isSmall &&
        last !== undefined &&
        Array.from({ length: fillers }, (_, index) => (
          <li
            key={`filler ${index}`}
            class="filler"
            aria-hidden="true"
            style={{ '--ratio': ratioOf(last) }}
          />
        ))}
    </ul>
  );
}

/** Width by height; what is out of the common is shown within a frame that is not. */
function ratioOf({ size }: GridPicture): string {
  return String(size === undefined ? 1 : Math.min(2.4, Math.max(0.6, size.width / size.height)));
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

/** A grid of pictures in rows, each a button that opens the picture. */
import type { ComponentChildren, JSX } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ClipTile } from './clip-player.tsx';
import { Connection, type GridPicture } from './grid-picture.ts';
import { toneOf } from './facts.tsx';

interface Props {
  pictures: GridPicture[];
  isSmall?: boolean;
  /** Pictures in a row. If unset, as many as fit. */
  perRow?: number | undefined;
  /** True if there is no space for captions. */
  isTight?: boolean | undefined;
  /** True if a high-density screen gets the full picture instead of an enlarged thumbnail. */
  isSharp?: boolean | undefined;
  onOpen(index: number): void;
  /** Elements added to a picture. */
  extra?(picture: GridPicture): ComponentChildren;
}

/** Empty items that complete the last row, so that its pictures are not stretched. */
const fillers = 11;

/** A grid in which each row is filled, with pictures of equal height. */
export function PictureGrid({ pictures, isSmall = false, ...props }: Props): JSX.Element {
  const { perRow, isTight = false, isSharp = false, onOpen, extra } = props;
  const usual = usualRatio(pictures);
  return (
    <ul
      class={`pictures ${perRow === undefined ? '' : 'counted'} ${isTight ? 'tight' : ''}`}
      style={{ '--per-row': perRow, '--usual': usual }}
    >
      {pictures.map((picture, index) => (
        <li key={picture.key} data-scene={picture.id} style={sizesOf(picture, usual)}>
          <button type="button" class="picture" data-key={picture.key} onClick={() => onOpen(index)}>
            <span class="frame">
              {picture.clip === undefined ? (
                <Image {...picture} density={isSharp ? devicePixelRatio : 1} />
              ) : (
                <ClipTile key={picture.clip.source} clip={picture.clip} alt={picture.alt} />
              )}
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
        Array.from({ length: fillers }, (_, index) => (
          <li key={`filler ${index}`} class="filler" aria-hidden="true" style={{ '--ratio': usual }} />
        ))}
    </ul>
  );
}

/** Median ratio of the pictures. Scenes without a picture get the same space. */
function usualRatio(pictures: GridPicture[]): number {
  const ratios = pictures.flatMap(({ size }) => (size === undefined ? [] : [ratioOf(size)]));
  return ratios.toSorted((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? 1;
}

/** Width divided by height. Extreme pictures are framed, so the ratio is limited. */
function ratioOf({ width, height }: { width: number; height: number }): number {
  return Math.min(2.4, Math.max(0.6, width / height));
}

function sizesOf({ size }: GridPicture, usual: number): Record<string, string | number> {
  if (size === undefined) return { '--ratio': usual };
  return { '--ratio': ratioOf(size), '--width': `${size.width}px`, '--height': `${size.height}px` };
}

type ImageProps = Pick<GridPicture, 'sources' | 'alt' | 'state' | 'word' | 'size'> & {
  /** Device pixels for each CSS pixel. */
  density?: number;
};

/** Shows the first source that loads, or a text if none does. */
export function Image({ sources, alt, state, word, size, density = 1 }: ImageProps): JSX.Element {
  const { source, sized, onLoad, onError } = useSource(sources, density);
  if (source === undefined)
    return (
      <span class={`word ${toneOf(state) ?? ''}`}>
        <span class="unseen">{alt}: </span>
        {sources.length > 0 ? 'the file is missing' : word}
      </span>
    );
  return (
    <img
      // Keeps the thumbnail until the full picture is loaded.
      key={sources[0]}
      ref={sized}
      src={source}
      alt={alt}
      {...size}
      loading="lazy"
      decoding="async"
      onLoad={onLoad}
      onError={onError}
    />
  );
}

/** Returns the first source that loads, or the last, the full picture, if that would be enlarged. */
function useSource(sources: string[], density: number) {
  const sized = useRef<HTMLImageElement>(null);
  const fresh = { first: sources[0], failures: 0, whole: 'unasked', connection: useContext(Connection) };
  const [kept, keep] = useState(fresh);
  const isToTryAgain =
    kept.connection !== fresh.connection && (kept.failures === sources.length || kept.whole === 'gone');
  const tried = kept.first === fresh.first && !isToTryAgain ? kept : fresh;
  const isAsked = tried.whole === 'asked';
  const onLoad = (): void => {
    const img = sized.current;
    const isSmaller = tried.whole === 'unasked' && tried.failures < sources.length - 1;
    // Return early, because reading the size on the page forces a layout.
    if (!isSmaller || img === null || img.naturalWidth === 0) return;
    const { clientWidth, clientHeight, naturalWidth, naturalHeight } = img;
    const scale = Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight) * density;
    if (scale > 1.01) keep({ ...tried, whole: 'asked' });
  };
  const onError = (): void =>
    keep(isAsked ? { ...tried, whole: 'gone' } : { ...tried, failures: tried.failures + 1 });
  // Runs after each render, because anything may have enlarged the image.
  useEffect(onLoad);
  return { source: isAsked ? sources.at(-1) : sources[tried.failures], sized, onLoad, onError };
}

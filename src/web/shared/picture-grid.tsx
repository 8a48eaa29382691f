/** Rows of whole pictures, each a button that opens it. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { GridPicture } from './grid-picture.ts';
import { toneOf } from './tone.ts';

interface Props {
  pictures: GridPicture[];
  isSmall?: boolean;
  /** As many as there is room for where left out. */
  perRow?: number | undefined;
  /** Whether there is room for pictures alone. */
  isTight?: boolean | undefined;
  /** Whether more than a thumbnail is loaded for the pixels of a fine screen. */
  isSharp?: boolean | undefined;
  onOpen(index: number): void;
  /** What belongs to a picture besides. */
  extra?(picture: GridPicture): ComponentChildren;
}

/** Of the last row, so that its pictures are no larger than the others. */
const fillers = 11;

/** Pictures of a row are equally high and fill it. */
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
              <Image {...picture} density={isSharp ? devicePixelRatio : 1} />
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

/** That of most pictures; a scene that has none yet takes as much room. */
function usualRatio(pictures: GridPicture[]): number {
  const ratios = pictures.flatMap(({ size }) => (size === undefined ? [] : [ratioOf(size)]));
  return ratios.toSorted((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? 1;
}

/** Width by height; what is out of the common is shown within a frame that is not. */
function ratioOf({ width, height }: { width: number; height: number }): number {
  return Math.min(2.4, Math.max(0.6, width / height));
}

function sizesOf({ size }: GridPicture, usual: number): Record<string, string | number> {
  if (size === undefined) return { '--ratio': usual };
  return { '--ratio': ratioOf(size), '--width': `${size.width}px`, '--height': `${size.height}px` };
}

type ImageProps = Pick<GridPicture, 'sources' | 'alt' | 'state' | 'word' | 'size'> & {
  /** Pixels of the screen that a pixel of the page is to be sharp on. */
  density?: number;
};

/** Goes on to the next address where one does not load, and says so where none does. */
export function Image({ sources, alt, state, word, size, density = 1 }: ImageProps): JSX.Element {
  const { source, sized, onLoad, onError } = useSource(sources, density);
  if (source === undefined)
    return (
      <span class={`word ${toneOf(state) ?? ''}`}>
        <span class="unseen">{alt}: </span>
        {sources.length > 0 ? 'the file is gone' : word}
      </span>
    );
  return (
    <img
      // A thumbnail stays until the picture itself is there.
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

/** The first address that loads; the last one, of the picture itself, where that would be stretched. */
function useSource(sources: string[], density: number) {
  const sized = useRef<HTMLImageElement>(null);
  const fresh = { first: sources[0], failures: 0, whole: 'unasked' };
  const [kept, keep] = useState(fresh);
  const tried = kept.first === fresh.first ? kept : fresh;
  const isAsked = tried.whole === 'asked';
  const onLoad = (): void => {
    const img = sized.current;
    const isSmaller = tried.whole === 'unasked' && tried.failures < sources.length - 1;
    // To ask for its place on the page costs a layout.
    if (!isSmaller || img === null || img.naturalWidth === 0) return;
    const { clientWidth, clientHeight, naturalWidth, naturalHeight } = img;
    const scale = Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight) * density;
    if (scale > 1.01) keep({ ...tried, whole: 'asked' });
  };
  const onError = (): void =>
    keep(isAsked ? { ...tried, whole: 'gone' } : { ...tried, failures: tried.failures + 1 });
  // Anything may have made it larger.
  useEffect(onLoad);
  return { source: isAsked ? sources.at(-1) : sources[tried.failures], sized, onLoad, onError };
}

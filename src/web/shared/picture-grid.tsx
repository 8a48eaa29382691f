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
  const { perRow, isSharp = false, onOpen, extra } = props;
  const usual = usualRatio(pictures);
  return (
    <ul
      class={perRow === undefined ? 'pictures' : 'pictures counted'}
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

/** Goes on to the next address where one does not load, and says so where none does; to the last, the picture itself, where a thumbnail would be stretched. */
export function Image({ sources, alt, state, word, size, density = 1 }: ImageProps): JSX.Element {
  const shown = useRef<HTMLImageElement>(null);
  const first = sources[0];
  const [kept, setTried] = useState({ first, failures: 0, whole: 'unasked' });
  const tried = kept.first === first ? kept : { first, failures: 0, whole: 'unasked' };
  const { failures, whole } = tried;
  const isWhole = whole === 'asked' || failures === sources.length - 1;
  const enlarge = (): void => {
    const { clientWidth = 0, clientHeight = 0, naturalWidth = 0, naturalHeight = 0 } = shown.current ?? {};
    const scale = Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight) * density;
    if (!isWhole && whole === 'unasked' && naturalWidth > 0 && scale > 1.01)
      setTried({ ...tried, whole: 'asked' });
  };
  // Whatever made it larger.
  useEffect(enlarge);
  const source = whole === 'asked' ? sources.at(-1) : sources[failures];
  if (source === undefined)
    return (
      <span class={`word ${toneOf(state) ?? ''}`}>
        <span class="unseen">{alt}: </span>
        {sources.length > 0 ? 'the file is gone' : word}
      </span>
    );
  return (
    <img
      // The thumbnail stays until the picture is there.
      key={sources[failures]}
      ref={shown}
      src={source}
      alt={alt}
      {...size}
      loading="lazy"
      decoding="async"
      onLoad={enlarge}
      onError={() =>
        setTried(whole === 'asked' ? { ...tried, whole: 'gone' } : { ...tried, failures: failures + 1 })
      }
    />
  );
}

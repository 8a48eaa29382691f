/** The pictures as they arrive. They wait to be shown while somebody looks at those that are there. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LivePicture } from '../../runner/core/live-batch.ts';
import { fetchBefore, fetchNewest } from './follow-batch.ts';
import { countWords, counted } from '../shared/number-words.ts';
import type { GridPicture } from '../shared/grid-picture.ts';
import { PictureGrid } from '../shared/picture-grid.tsx';
import { PictureViewer } from './picture-viewer.tsx';
import { imageAddress, thumbnailAddress } from './picture-addresses.ts';

interface Props {
  /** The newest first: all of a page, or those that are new since. */
  newest: LivePicture[];
  /** Pictures of the batch. */
  total: number;
}

/** Those that are kept on the page while nobody looks further back. */
const pageLength = 48;

/** More than these may have come with one change. */
const mostNews = 12;

export function Arrivals({ newest, total }: Props): JSX.Element {
  const grid = useRef<HTMLElement>(null);
  const [shown, setShown] = useState<LivePicture[]>([]);
  const [shownTotal, setShownTotal] = useState(0);
  const [arrived, setArrived] = useState<LivePicture[]>([]);
  const [openId, setOpenId] = useState<number>();
  const [hasOlder, setHasOlder] = useState(true);

  const show = (pictures: LivePicture[]): void => {
    setArrived([]);
    setShown(pictures);
    setShownTotal(total);
    setHasOlder(pictures.length >= pageLength);
  };
  /** Where too many came to be told one by one, or some are gone, all are asked for. */
  const showAll = async (news: LivePicture[]): Promise<void> => {
    const isTold = news.length < mostNews && total >= shownTotal;
    show(isTold ? [...news, ...shown].slice(0, pageLength) : await fetchNewest());
  };

  useEffect(() => {
    const known = arrived[0]?.id ?? shown[0]?.id ?? 0;
    const news = [...newest.filter(({ id }) => id > known), ...arrived].slice(0, pageLength);
    const isFree = openId === undefined && !isLookedAt(grid.current);
    if (shown.length === 0) show(news);
    else if ((isFree && news.length > 0) || total < shownTotal) void showAll(news).catch(() => undefined);
    else setArrived(news);
  }, [newest]);

  const showOlder = async (): Promise<void> => {
    const older = await fetchBefore(shown.at(-1)?.id ?? 0);
    setShown([...shown, ...older]);
    setHasOlder(older.length >= pageLength);
  };
  const waiting = arrived.length === 0 ? 0 : Math.max(arrived.length, total - shownTotal);
  const opened = shown.findIndex(({ id }) => id === openId);
  return (
    <section aria-labelledby="pictures" ref={grid}>
      <div class="head">
        <h2 id="pictures">Pictures</h2>
        <span class="soft">{counted(total, 'picture')}, the newest first</span>
        {waiting > 0 && (
          <button
            type="button"
            class="new"
            onClick={() =>
              void showAll(arrived).then(
                () => scrollTo(grid.current),
                () => undefined,
              )
            }
          >
            {countWords(waiting)} new
          </button>
        )}
      </div>
      {shown.length === 0 && <p class="soft">None yet.</p>}
      <PictureGrid pictures={shown.map(toGridPicture)} onOpen={(index) => setOpenId(shown[index]?.id)} />
      {shown.length > 0 && hasOlder && (
        <button type="button" class="older" onClick={() => void showOlder().catch(() => undefined)}>
          Show older ones
        </button>
      )}
      {opened >= 0 && (
        <PictureViewer
          pictures={shown}
          index={opened}
          onMove={(index) => setOpenId(shown[index]?.id)}
          onClose={() => setOpenId(undefined)}
        />
      )}
    </section>
  );
}

/** Whether pictures would move under somebody's eyes, pointer or keyboard. */
function isLookedAt(section: HTMLElement | null): boolean {
  if (section === null) return false;
  const hasFocus = section.contains(document.activeElement);
  return scrollY > 40 || hasFocus || section.matches(':hover');
}

function scrollTo(section: HTMLElement | null): void {
  section?.scrollIntoView({ block: 'start' });
}

function toGridPicture(picture: LivePicture): GridPicture {
  const { id, sceneId, prompt, thumbnail } = picture;
  const small = thumbnail === null ? [] : [thumbnailAddress(thumbnail, picture)];
  return {
    key: String(id),
    sources: [...small, imageAddress(picture)],
    alt: prompt === '' ? sceneId : prompt,
    caption: sceneId,
    state: 'saved',
    word: 'saved',
    badge: '',
  };
}

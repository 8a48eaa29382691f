/** The pictures as they arrive. They wait to be shown while somebody looks at those that are there. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LivePicture } from '../../runner/core/live-batch.ts';
import { PictureViewer } from '../shared/dialog.tsx';
import { Facts } from '../shared/facts.tsx';
import type { GridPicture } from '../shared/grid-picture.ts';
import { useLoaded } from '../shared/hooks.ts';
import { byteWords, countWords, counted, durationWords, instantWords } from '../shared/number-words.ts';
import { PictureGrid } from '../shared/picture-grid.tsx';
import { LongText } from '../shared/text.tsx';
import { fetchBefore, fetchNewest, fetchStory } from './follow-batch.ts';

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
  const picture = shown[opened];
  return (
    <section class="stack" aria-labelledby="pictures" ref={grid}>
      <div class="row">
        <h2 id="pictures">Pictures</h2>
        <small>{counted(total, 'picture')}, the newest first</small>
        {waiting > 0 && (
          <button
            type="button"
            class="new primary"
            onClick={() =>
              void showAll(arrived).then(
                () => grid.current?.scrollIntoView({ block: 'start' }),
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
      {picture !== undefined && (
        <PictureViewer
          title={picture.sceneId}
          picture={<FullPicture picture={picture} />}
          hasPrevious={opened > 0}
          hasNext={opened < shown.length - 1}
          onStep={(by) => setOpenId((shown[opened + by] ?? picture).id)}
          onClose={() => setOpenId(undefined)}
        >
          <Known picture={picture} />
        </PictureViewer>
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

function toGridPicture(picture: LivePicture): GridPicture {
  const { id, sceneId, prompt, thumbnail, file } = picture;
  // With the picture that comes in its place where there is no thumbnail.
  const small = thumbnail === null ? [] : [`${thumbnail}?of=${encodeURIComponent(file)}`];
  return {
    key: String(id),
    sources: [...small, imageAddress(picture)],
    alt: prompt === '' ? sceneId : prompt,
    caption: sceneId,
    prompt,
    state: 'saved',
    word: 'saved',
    badge: '',
    size: { width: picture.width, height: picture.height },
  };
}

/** With its content's digest, so that a browser keeps it until it is another; relative to the page, wherever a proxy has put it. */
function imageAddress({ file, digest }: LivePicture): string {
  return `images/${file.split('/').map(encodeURIComponent).join('/')}?v=${digest}`;
}

function FullPicture({ picture }: { picture: LivePicture }): JSX.Element {
  const { id, sceneId, prompt, width, height } = picture;
  const alt = prompt === '' ? sceneId : prompt;
  return <img key={id} src={imageAddress(picture)} width={width} height={height} alt={alt} />;
}

/** What it was made of. */
function Known({ picture }: { picture: LivePicture }): JSX.Element {
  const { id, prompt, file, width, height, bytes, savedAt } = picture;
  const loaded = useLoaded([id], () => fetchStory(id));
  const story = loaded?.id === id ? loaded : undefined;
  return (
    <>
      <p class="prompt" dir="auto">
        {prompt}
      </p>
      <Facts
        facts={[
          ['file', file],
          ['size', `${width} × ${height}, ${byteWords(bytes)}`],
          ['seed', story?.seed],
          ['saved', savedAt === null ? null : instantWords(savedAt)],
          ['job', story?.jobId],
          ['attempt', story?.attempt === 1 ? null : story?.attempt],
          ['in the queue', timeWords(story?.delayTimeMs)],
          ['executed', timeWords(story?.executionTimeMs)],
          ['row', story?.source],
        ]}
      />
      {story !== undefined && (
        <details>
          <summary>Input</summary>
          <LongText label="Input" text={story.input} />
        </details>
      )}
    </>
  );
}

function timeWords(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : durationWords(ms);
}

/** Whether the service answers, and whether it knows who asks. */
import { useEffect, useState } from 'preact/hooks';

export interface Link {
  /** By this machine's clock; null while it answers. */
  awaySince: number | null;
  isSignedOut: boolean;
}

let link: Link = { awaySince: null, isSignedOut: false };
const listeners = new Set<(link: Link) => void>();

export function updateLink(change: Partial<Link>): void {
  const next = { ...link, ...change };
  if (next.awaySince === link.awaySince && next.isSignedOut === link.isSignedOut) return;
  link = next;
  for (const listener of listeners) listener(link);
}

/** The service did not answer; the first time counts. */
export function markAway(): void {
  updateLink({ awaySince: link.awaySince ?? Date.now() });
}

export function useLink(): Link {
  const [shown, setShown] = useState(link);
  useEffect(() => {
    listeners.add(setShown);
    setShown(link);
    return () => void listeners.delete(setShown);
  }, []);
  return shown;
}

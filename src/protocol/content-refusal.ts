/** Distinguishes refusals because of content (moderation, NSFW, safety) from other failures by the worker's words. */

const refusals = [
  /nsfw|not safe for work|moderat(?:ed|ion)/,
  /content[ _-]?(?:check|policy|policies|filter|moderation|violation|restriction)/,
  /safety[ _-]?(?:system|check|filter|guideline|polic|setting|reason)/,
  /(?:adult|disallowed|explicit|forbidden|harmful|inappropriate|prohibited|sensitive|sexual|unsafe)[ _-](?:content|image|prompt|word|material)/,
  /violat\w* .{0,40}(?:polic|guideline|terms)|polic\w+ violation/,
];

/** Words that mean that the checker itself failed, or that are part of a name. */
const doubts = [
  /\b(?:busy|checkpoint|connect\w*|disabled|download\w*|embedding|exception|fetch\w*|import\w*|install\w*|internal|load\w*|lora|memory|missing|module|traceback|unavailable|unreachable|vae|weights)\b/,
  /\bno(?:t| such)? (?:found|file|nsfw|moderated|unsafe)|\bnon-nsfw|time[ds]?[ -]?out|try again later|rate limit|safetensors/,
  /(?:check\w*|filter|service|model|system|moderation|api) (?:has |is |was )?(?:crashed|down|errored|failed|passed)/,
];

/** True if the words clearly mean a refusal because of content, so that the same input would be refused again. */
export function isContentRefusal(words: string): boolean {
  const text = words.toLowerCase();
  return refusals.some((pattern) => pattern.test(text)) && !doubts.some((pattern) => pattern.test(text));
}

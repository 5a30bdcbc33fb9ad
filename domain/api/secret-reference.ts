/** References to secrets in the texts of a definition (api-definition design 0.8). */

const reference =
  /(?:^|[^\w+.-])(env|secrets|file|consul|vault|kv):\/\/|\$secret_(env|conf|file|vault|consul)\.|\$(kv)\{/;

/** The source that a text refers to: `env`, `vault`, …; undefined when it refers to none. */
export const secretSource = (text: string): string | undefined =>
  reference
    .exec(text)
    ?.slice(1)
    .find((name) => name !== undefined);

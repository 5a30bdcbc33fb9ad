/** The tokens of a template. */

export type Token = { readonly offset: number } & (
  | { readonly kind: 'text' | 'identifier' | 'field' | 'variable' | 'named' | 'string'; readonly text: string }
  | { readonly kind: 'number'; readonly value: bigint | number }
  | { readonly kind: 'mark'; readonly text: '|' | '(' | ')' | ',' | ':=' | '=' | '.' }
  | { readonly kind: 'left' | 'right' | 'space' | 'end' }
);

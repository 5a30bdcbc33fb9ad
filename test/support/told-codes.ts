/** Holds every error that a test meets to what the row of its route tells in the API's own document. */
import { createDocument } from '../../src/management/openapi.ts';
import { routes } from '../../src/management/routes.ts';

type Responses = Readonly<Record<string, { readonly description: string }>>;

const { paths } = createDocument(routes, { maxDefinitionBytes: 0 }) as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>;
};

/** Names before parameters, as the server asks them. */
const patterns = Object.keys(paths)
  .toSorted((a, b) => a.split('{').length - b.split('{').length)
  .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }));

/** Throws for a code that is not told. What is at no route has none. */
export function demandTold(method: string, address: string, status: number, code: string | null): void {
  const [asked = ''] = address.split('?');
  const path = patterns.find(({ pattern }) => pattern.test(asked))?.path;
  const operation = path === undefined ? undefined : paths[path]?.[method.toLowerCase()];
  if (!operation || code === null) return;
  if (operation.responses[status]?.description.includes(`\`${code}\``)) return;
  throw new Error(`${method} ${path} answers ${status} ${code}, which its row does not tell`);
}

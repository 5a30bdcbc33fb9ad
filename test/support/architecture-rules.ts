/** The rules of the house: each takes a tree of files and answers what breaks it, in words that begin with the path. */
import { posix } from 'node:path';
import {
  closedRoots,
  emptyNames,
  entriesOfSrc,
  type Family,
  families,
  floors,
  generated,
  maxLines,
  type Order,
  openers,
  orders,
  packages,
  sqliteSeam,
  wingsWithoutNode,
} from './architecture-table.ts';
import { type FoundImport, scanImports } from './import-scanner.ts';

/** Paths from the root with `/`; the text of code, nothing for other files. */
export type Tree = ReadonlyMap<string, string>;

type Arrow = FoundImport & {
  readonly from: string /** A path of the tree, a package, or `node:…`. */;
  readonly to: string;
};

type Rule = (tree: Tree) => readonly string[];

const isCode = (path: string): boolean => /\.(ts|tsx|js|mjs|cjs)$/.test(path);
const wingOf = (path: string): string => path.split('/', 1)[0] ?? '';
const isWing = (name: string): boolean => Object.hasOwn(floors, name);
const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/');
const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const isLocal = ({ specifier }: FoundImport): boolean => specifier.startsWith('.');

function arrowsOf(tree: Tree): readonly Arrow[] {
  return [...tree]
    .filter(([path]) => isCode(path))
    .flatMap(([from, text]) =>
      scanImports(text).map((found) => ({
        ...found,
        from,
        to: isLocal(found) ? resolved(from, found.specifier) : found.specifier,
      })),
    );
}

const resolved = (from: string, specifier: string): string => posix.join(folderOf(from), specifier);

const packageName = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** 1. Floors between wings, `node:` and packages per folder. */
const floorsHold: Rule = (tree) =>
  arrowsOf(tree)
    .filter(({ from }) => isWing(wingOf(from)))
    .flatMap((arrow) => {
      const { from, to, specifier } = arrow;
      const wing = wingOf(from);
      if (isLocal(arrow)) {
        const other = wingOf(to);
        return other === wing || floors[wing]?.includes(other) || !isWing(other)
          ? []
          : [`${from} imports ${to}: ${wing} does not stand above ${other}`];
      }
      if (specifier.startsWith('node:'))
        return wingsWithoutNode.includes(wing) ? [`${from} imports ${specifier}: ${wing} knows no Node`] : [];
      return packageProblem(arrow);
    });

function packageProblem({ from, specifier, isType, isDynamic }: Arrow): readonly string[] {
  const name = packageName(specifier);
  const rows = packages.filter(
    ({ folder, packages: allowed }) =>
      isBelow(from, folder) &&
      allowed.some((entry) => entry === name || (entry.endsWith('/*') && name.startsWith(entry.slice(0, -1)))),
  );
  if (rows.length === 0) return [`${from} imports ${name}: the table of packages does not place it there`];
  return rows.every(({ isLazy }) => isLazy) && !isType && !isDynamic
    ? [`${from} imports ${name} at start: load it on first use`]
    : [];
}

/** 2. No import upwards inside a wing. */
const ordersHold: Rule = (tree) =>
  arrowsOf(tree)
    .filter(isLocal)
    .flatMap(({ from, to }) => {
      const order = orders.find(({ wing }) => wing === wingOf(from) && wing === wingOf(to));
      if (!order) return [];
      const [above, below] = [roomIn(from, order.wing), roomIn(to, order.wing)];
      if (above === below) return [];
      const [fromRow, toRow] = [rowOf(above, order), rowOf(below, order)];
      const homeless = [fromRow === -1 ? above : undefined, toRow === -1 ? below : undefined].filter(
        (room) => room !== undefined,
      );
      if (homeless.length > 0)
        return homeless.map((room) => `${order.wing}/${room} has no place in the order of ${order.wing}: name its row`);
      if (fromRow < toRow || (fromRow === toRow && order.isGroundOpen && fromRow === order.rows.length - 1)) return [];
      const how = fromRow === toRow ? 'stands beside' : 'stands below';
      return [`${from} imports ${to}: ${above} ${how} ${below}`];
    });

const roomIn = (path: string, folder: string): string =>
  path.slice(folder === '' ? 0 : folder.length + 1).split('/', 1)[0] ?? '';

function rowOf(room: string, { rows }: Order): number {
  const named = rows.findIndex((row) => row.includes(room));
  return named >= 0 ? named : rows.findIndex((row) => row.includes('*'));
}

/** 3. No circle between rooms at any level. A room is a direct child of a folder. */
const noCircles: Rule = (tree) => {
  const rooms = new Map<string, Map<string, Map<string, Arrow>>>();
  for (const arrow of arrowsOf(tree).filter((found) => isLocal(found) && isWing(wingOf(found.from)))) {
    const folder = commonFolder(arrow.from, arrow.to);
    const [from, to] = [roomIn(arrow.from, folder), roomIn(arrow.to, folder)];
    if (from === to) continue;
    const graph = rooms.get(folder) ?? new Map<string, Map<string, Arrow>>();
    rooms.set(folder, graph.set(from, (graph.get(from) ?? new Map<string, Arrow>()).set(to, arrow)));
  }
  return [...rooms].flatMap(([folder, graph]) => circleIn(graph, folder));
};

function commonFolder(a: string, b: string): string {
  const [left, right] = [folderOf(a).split('/'), folderOf(b).split('/')];
  const end = left.findIndex((step, index) => step !== right[index]);
  return left.slice(0, end < 0 ? left.length : end).join('/');
}

function circleIn(graph: ReadonlyMap<string, ReadonlyMap<string, Arrow>>, folder: string): readonly string[] {
  const done = new Set<string>();
  const walk = (room: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(room)) return [...path.slice(path.indexOf(room)), room];
    if (done.has(room)) return undefined;
    for (const next of graph.get(room)?.keys() ?? []) {
      const circle = walk(next, [...path, room]);
      if (circle) return circle;
    }
    done.add(room);
    return undefined;
  };
  for (const room of graph.keys()) {
    const circle = walk(room, []);
    if (!circle) continue;
    const files = circle
      .slice(1)
      .map((to, index) => graph.get(circle[index] as string)?.get(to))
      .map((arrow) => `${arrow?.from} imports ${arrow?.to}`);
    return [`${folder || 'root'}: circle ${circle.join(' → ')} (${files.join('; ')})`];
  }
  return [];
}

/** 4. Leaves do not import their neighbours. */
const leavesStandAlone: Rule = (tree) =>
  arrowsOf(tree)
    .filter(isLocal)
    .flatMap(({ from, to }) =>
      families
        .filter(({ folder }) => from.startsWith(`${folder}/`) && to.startsWith(`${folder}/`))
        .flatMap(({ folder, shared, pickers = [] }) => {
          const [leaf, other] = [roomIn(from, folder), roomIn(to, folder)];
          if (leaf === other || shared.includes(other) || pickers.includes(leaf)) return [];
          return [`${from} imports ${to}: neighbours in ${folder} do not know each other`];
        }),
    );

/** 5. What management may know of the gateway opens nothing. */
const checksOpenNothing: Rule = (tree) => {
  const arrows = arrowsOf(tree).filter(({ isType }) => !isType);
  return closedRoots
    .filter((root) => tree.has(root))
    .flatMap((root) => {
      const seen = new Set([root]);
      for (const path of seen)
        for (const arrow of arrows) if (arrow.from === path && isLocal(arrow)) seen.add(arrow.to);
      return arrows
        .filter(
          ({ from, specifier }) =>
            seen.has(from) && (openers.includes(specifier) || openers.includes(packageName(specifier))),
        )
        .map(({ from, specifier }) => `${root} reaches ${from}, which imports ${specifier}: a check opens nothing`);
    });
};

/** 6. Nothing imports tests; the console knows types and the client only; one file knows SQLite. */
const bordersHold: Rule = (tree) =>
  arrowsOf(tree)
    .filter(({ from }) => isWing(wingOf(from)))
    .flatMap((arrow) => {
      const { from, to, isType } = arrow;
      if (isLocal(arrow) && !isWing(wingOf(to))) return [`${from} imports ${to}: a wing knows no ${wingOf(to)}`];
      if (to === 'node:sqlite' && from !== sqliteSeam) return [`${from} imports node:sqlite: only ${sqliteSeam} does`];
      const isForeign = isLocal(arrow) && isBelow(from, 'src/console') && !isBelow(to, 'src/console');
      if (isForeign && !isType && to !== 'src/management/client.ts')
        return [`${from} imports ${to}: the console takes types only`];
      return !isBelow(from, 'src/console') && isBelow(to, 'src/console')
        ? [`${from} imports ${to}: the console stands apart`]
        : [];
    });

/** 7. Entries, names, opening sentences, sizes. */
const filesAreInOrder: Rule = (tree) =>
  [...tree].flatMap(([path, text]) => [...placeProblems(path), ...(isCode(path) ? textProblems(path, text) : [])]);

function placeProblems(path: string): readonly string[] {
  const name = (path.split('/').at(-1) ?? '').replace(/(\.test)?\.[a-z]+$/, '');
  const entry = roomIn(path, 'src');
  return [
    ...(isCode(path) && !path.includes('/') ? [`${path}: no code at the root`] : []),
    ...(wingOf(path) === 'src' && !entriesOfSrc.includes(entry)
      ? [`src/${entry}: a new entry of src needs an ADR`]
      : []),
    ...(isCode(path) && emptyNames.includes(name) ? [`${path}: "${name}" says nothing; name what it holds`] : []),
    ...(isCode(path) && isWing(wingOf(path)) && name !== name.toLowerCase()
      ? [`${path}: file names are kebab-case`]
      : []),
  ];
}

function textProblems(path: string, text: string): readonly string[] {
  const opening = /^(?:#![^\n]*\n)?\/\*\*(.*?)\*\//s
    .exec(text)?.[1]
    ?.replaceAll(/\s*\n\s*\*\s?/g, ' ')
    .trim();
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return [
    ...(opening === undefined ? [`${path}: opens with no sentence that says what it does`] : []),
    ...(opening !== undefined && !/^\S.*\s.*[.?:!)`]$/.test(opening) ? [`${path}: "${opening}" is no sentence`] : []),
    ...(lines > maxLines && !generated.includes(path) ? [`${path}: ${lines} lines, at most ${maxLines}`] : []),
  ];
}

/** 8. Every leaf is named in its table. */
const tablesAreComplete: Rule = (tree) => {
  const arrows = arrowsOf(tree);
  return families.flatMap((family) => {
    const { table } = family;
    if (table === undefined || !tree.has(table)) return [];
    const named = new Set(
      arrows
        .filter(({ from }) => from === table)
        .map(({ to }) => roomIn(to, family.folder))
        .filter((room) => room !== ''),
    );
    return leafRooms(tree, family)
      .filter((room) => !named.has(room))
      .map((room) => `${family.folder}/${room} is not named in ${table}`);
  });
};

const leafRooms = (tree: Tree, { folder, shared }: Family): readonly string[] =>
  [
    ...new Set(
      [...tree.keys()]
        .filter((path) => path.startsWith(`${folder}/`) && isCode(path))
        .map((path) => roomIn(path, folder)),
    ),
  ].filter((room) => !shared.includes(room));

export const rules: Readonly<Record<string, Rule>> = {
  'imports run downwards between wings, and packages stand where they belong': floorsHold,
  'imports run downwards inside a wing': ordersHold,
  'no circle joins rooms at any level': noCircles,
  'leaves do not know their neighbours': leavesStandAlone,
  'the checks that management shares with the gateway open nothing': checksOpenNothing,
  'tests, console and SQLite stay behind their borders': bordersHold,
  'every file has its place, its opening sentence and its size': filesAreInOrder,
  'every leaf is named in its table': tablesAreComplete,
};

/** The house rules: the tree keeps them, and each of them bites when a made-up tree breaks it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { expect } from 'chai';
import { rules, type Tree } from '../support/architecture-rules.ts';
import { scanImports } from '../support/import-scanner.ts';

const root = join(import.meta.dirname, '../..');
const outside = new Set(['node_modules', 'dist', 'data', 'coverage', '.git', '.ci']);

function readTree(): Tree {
  const files = (folder: string): readonly string[] =>
    readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !(folder === root && outside.has(name)))
      .flatMap((entry) => (entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]));
  return new Map(
    files(root).map((path) => [
      relative(root, path).split(sep).join('/'),
      /\.(ts|tsx|js|mjs|cjs)$/.test(path) ? readFileSync(path, 'utf8') : '',
    ]),
  );
}

describe('the house', () => {
  let tree: Tree;
  before(() => {
    tree = readTree();
  });

  it('is read in full', () => {
    for (const file of [
      'domain/event.ts',
      'gateway/check-api.ts',
      'src/bin.js',
      'package.json',
      'test/unit/architecture.test.ts',
    ]) {
      expect([...tree.keys()]).to.include(file);
    }
  });

  for (const [name, rule] of Object.entries(rules)) {
    it(name, () => expect(rule(tree)).to.deep.equal([]));
  }
});

const made = (files: Readonly<Record<string, string>>): Tree =>
  new Map(Object.entries(files).map(([path, text]) => [path, `/** Does what it does. */\n${text}`]));

const broken: readonly [name: string, files: Readonly<Record<string, string>>, says: string][] = [
  [
    'domain importing a wing above',
    { 'domain/a.ts': "import type { X } from '../gateway/x.ts';" },
    'domain/a.ts imports gateway/x.ts: domain does not stand above gateway',
  ],
  [
    'pump importing projections',
    { 'pump/a.ts': "import '../projections/x.ts';" },
    'pump/a.ts imports projections/x.ts: pump does not stand above projections',
  ],
  [
    'domain importing Node',
    { 'domain/a.ts': "import { x } from 'node:fs';" },
    'domain/a.ts imports node:fs: domain knows no Node',
  ],
  [
    'a package outside its folder',
    { 'gateway/http/a.ts': "import pino from 'pino';" },
    'gateway/http/a.ts imports pino: the table of packages does not place it there',
  ],
  [
    'a package in projections',
    { 'projections/a.ts': "import { v7 } from 'uuid';" },
    'projections/a.ts imports uuid: the table of packages does not place it there',
  ],
  [
    'a sink client loaded at start',
    { 'pump/sinks/pg.ts': "import pg from 'pg';" },
    'pump/sinks/pg.ts imports pg at start: load it on first use',
  ],
  [
    'http importing upstream',
    { 'gateway/http/chain.ts': "import { p } from '../upstream/proxy.ts';" },
    'gateway/http/chain.ts imports gateway/upstream/proxy.ts: http stands below upstream',
  ],
  [
    'feed importing the compiler',
    { 'gateway/feed/a.ts': "import { c } from '../compile.ts';" },
    'gateway/feed/a.ts imports gateway/compile.ts: feed stands beside compile.ts',
  ],
  [
    'stack importing upstream through a type',
    { 'gateway/middleware/a.ts': "import type { S } from '../stack.ts';" },
    'gateway/middleware/a.ts imports gateway/stack.ts: middleware stands below stack.ts',
  ],
  [
    'management importing stores',
    { 'src/management/a.ts': "export { s } from '../stores/open.ts';" },
    'src/management/a.ts imports src/stores/open.ts: management stands beside stores',
  ],
  [
    'a file of the gateway without a row',
    { 'gateway/http/a.ts': "import '../extra.ts';" },
    'gateway/extra.ts has no place in the order of gateway: name its row',
  ],
  [
    'an aggregate importing another',
    { 'domain/key.ts': "import { p } from './policy.ts';" },
    'domain/key.ts imports domain/policy.ts: key.ts stands beside policy.ts',
  ],
  [
    'a circle of folders without a circle of files',
    {
      'src/stores/a/x.ts': "import '../b/y.ts';",
      'src/stores/b/y.ts': '',
      'src/stores/b/z.ts': "import '../a/w.ts';",
      'src/stores/a/w.ts': '',
    },
    'src/stores: circle a → b → a (src/stores/a/x.ts imports src/stores/b/y.ts; src/stores/b/z.ts imports src/stores/a/w.ts)',
  ],
  [
    'a circle of three files through types',
    {
      'domain/a.ts': "import type { B } from './b.ts';",
      'domain/b.ts': "import type { C } from './c.ts';",
      'domain/c.ts': "import type { A } from './a.ts';",
    },
    'domain: circle a.ts → b.ts → c.ts → a.ts (domain/a.ts imports domain/b.ts; domain/b.ts imports domain/c.ts; domain/c.ts imports domain/a.ts)',
  ],
  [
    'a step importing a step',
    { 'gateway/middleware/cors.ts': "import { x } from './cache/key.ts';" },
    'gateway/middleware/cors.ts imports gateway/middleware/cache/key.ts: neighbours in gateway/middleware do not know each other',
  ],
  [
    'a command importing a command',
    { 'src/cli/api.ts': "await import('./start.ts');" },
    'src/cli/api.ts imports src/cli/start.ts: neighbours in src/cli do not know each other',
  ],
  [
    'a check that reaches a socket',
    {
      'gateway/check-api.ts': "import { d } from '../domain/d.ts';",
      'domain/d.ts': "import { n } from './n.ts';",
      'domain/n.ts': "import { connect } from 'node:tls';",
    },
    'gateway/check-api.ts reaches domain/n.ts, which imports node:tls: a check opens nothing',
  ],
  [
    'a wing importing a test',
    { 'src/cli/a.ts': "import { x } from '../../test/support/x.ts';" },
    'src/cli/a.ts imports test/support/x.ts: a wing knows no test',
  ],
  [
    'a second importer of SQLite',
    { 'src/stores/records/a.ts': "import { DatabaseSync } from 'node:sqlite';" },
    'src/stores/records/a.ts imports node:sqlite: only src/stores/sqlite.ts does',
  ],
  [
    'the console importing code',
    { 'src/console/a.ts': "import { x } from '../config/load.ts';" },
    'src/console/a.ts imports src/config/load.ts: the console takes types only',
  ],
  ['code at the root', { 'tool.ts': '' }, 'tool.ts: no code at the root'],
  ['a tenth entry of src', { 'src/extras/a.ts': '' }, 'src/extras: a new entry of src needs an ADR'],
  ['a barrel', { 'gateway/index.ts': '' }, 'gateway/index.ts: "index" says nothing; name what it holds'],
  ['a drawer', { 'domain/api/utils.ts': '' }, 'domain/api/utils.ts: "utils" says nothing; name what it holds'],
  ['a long file', { 'domain/a.ts': '//\n'.repeat(350) }, 'domain/a.ts: 351 lines, at most 350'],
  [
    'a leaf that its table forgot',
    { 'pump/sinks.ts': "import { s } from './sinks/stdout.ts';", 'pump/sinks/stdout.ts': '', 'pump/sinks/file.ts': '' },
    'pump/sinks/file.ts is not named in pump/sinks.ts',
  ],
  [
    'a leaf folder that its table forgot',
    { 'gateway/stack.ts': '', 'gateway/middleware/cache/key.ts': '' },
    'gateway/middleware/cache is not named in gateway/stack.ts',
  ],
];

const kept: readonly [name: string, files: Readonly<Record<string, string>>][] = [
  [
    'a wing below',
    { 'gateway/http/a.ts': "import { x } from '../../domain/x.ts';", 'src/cli/a.ts': "import '../../pump/pump.ts';" },
  ],
  [
    'packages in their folders',
    {
      'gateway/http/a.ts': "import { Pool } from 'undici';",
      'src/config/a.ts': "import { Ajv } from 'ajv/dist/2020.js';",
      'pump/sinks/a.ts': "await import('pg');",
    },
  ],
  ['types of a lazy package', { 'pump/sinks/a.ts': "import type { Pool } from 'pg';" }],
  ['ground rooms that know each other', { 'domain/json.ts': "import type { Json } from './event.ts';" }],
  ['a command using what commands share', { 'src/cli/api.ts': "import { x } from './output.ts';" }],
  [
    'the console using the client',
    { 'src/console/a.ts': "import { c } from '../management/client.ts';\nimport type { T } from '../config/load.ts';" },
  ],
  [
    'a table that loads its leaves on demand',
    { 'src/main.ts': "const load = () => import('./cli/api.ts');", 'src/cli/api.ts': '', 'src/cli/output.ts': '' },
  ],
  ['a check that names types of sockets', { 'gateway/check-api.ts': "import type { TLSSocket } from 'node:tls';" }],
];

describe('the guard of the house', () => {
  for (const [name, files, says] of broken) {
    it(`bites at ${name}`, () => {
      const found = Object.values(rules).flatMap((rule) => rule(made(files)));
      expect(found).to.include(says);
    });
  }

  for (const [name, files] of kept) {
    it(`lets ${name} pass`, () => {
      expect(Object.values(rules).flatMap((rule) => rule(made(files)))).to.deep.equal([]);
    });
  }

  it('bites at a file without an opening sentence, and at one that says nothing', () => {
    const tree: Tree = new Map([
      ['domain/a.ts', 'export const a = 1;\n'],
      ['domain/b.ts', '/** Stuff */\n'],
      ['src/bin.js', '#!/usr/bin/env node\n/** Starts it all. */\n'],
    ]);
    const found = Object.values(rules).flatMap((rule) => rule(tree));
    expect(found).to.deep.equal([
      'domain/a.ts: opens with no sentence that says what it does',
      'domain/b.ts: "Stuff" is no sentence',
    ]);
  });
});

describe('scanImports', () => {
  const value = (specifier: string) => ({ specifier, isType: false, isDynamic: false });
  const cases: readonly [name: string, source: string, found: readonly object[]][] = [
    ['a side effect', "import './a.ts';", [value('./a.ts')]],
    ['a default and names over lines', 'import a, {\n  b as c,\n  type D,\n} from "./a.ts"', [value('./a.ts')]],
    ['a name space', "import * as a from './a.ts';", [value('./a.ts')]],
    [
      'types',
      "import type { A } from './a.ts';\nexport type { B } from './b.ts';",
      [
        { ...value('./a.ts'), isType: true },
        { ...value('./b.ts'), isType: true },
      ],
    ],
    ['a default called type', "import type from './a.ts';", [value('./a.ts')]],
    [
      'exports from elsewhere',
      "export * from './a.ts';\nexport * as b from './b.ts';\nexport { c } from './c.ts';",
      [value('./a.ts'), value('./b.ts'), value('./c.ts')],
    ],
    ['a literal import on demand', "const a = await import('./a.ts');", [{ ...value('./a.ts'), isDynamic: true }]],
    ['data', "import a from './a.json' with { type: 'json' };", [value('./a.json')]],
    ['two on one line', "import './a.ts';import './b.ts'", [value('./a.ts'), value('./b.ts')]],
    [
      'an import inside a value of a template',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a template as source text
      "`${await import('./a.ts')} ${`${{ b: 1 }}`} import './c.ts'`",
      [{ ...value('./a.ts'), isDynamic: true }],
    ],
    [
      'one behind a division and a regular expression',
      "const a = 4 / 2; const b = /['\"`/*]/.test('x'); import './a.ts';",
      [value('./a.ts')],
    ],
    ['one behind a shebang', "#!/usr/bin/env node\nimport './a.ts';", [value('./a.ts')]],
    ['nothing in comments', "// import './a.ts';\n/* import './b.ts'; */", []],
    [
      'nothing in strings and templates',
      "const a = \"import './a.ts'\"; const b = `import './b.ts'`; const c = 'it\\'s import \"./c.ts\"';",
      [],
    ],
    ['nothing in a regular expression', "const a = /import '.\\/a.ts'/;", []],
    ['nothing in local exports', "export { a };\nexport const from = './a.ts';\nexport default './b.ts';", []],
    ['nothing in import.meta and members', "import.meta.url; a.import('./a.ts'); const o = { import: './b.ts' };", []],
    ['nothing in a computed import', "await import(name + './a.ts');", []],
  ];
  for (const [name, source, found] of cases) {
    it(`finds ${name}`, () => expect(scanImports(source)).to.deep.equal(found));
  }
});

/** Draws the API's own document and sends requests from it. Runs in the browser; the token stays in this page. */

const find = (id) => document.getElementById(id);

/** An element with attributes and children; texts are texts, never markup. */
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(key, value);
    else if (value !== false && value !== undefined) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== ''));
  return node;
}

const pretty = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** Text in which words between backticks are code. */
const rich = (text) => text.split('`').map((part, index) => (index % 2 === 1 ? el('code', {}, part) : part));

const operationsOf = (api) =>
  Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );

function drawList(operations, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ method, path, summary }) => {
    const text = `${method} ${path} ${summary}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  const tags = Map.groupBy(operations.filter(fits), ({ tags: [tag] }) => tag);
  const current = location.hash.slice(1);
  const groups = [...tags].flatMap(([tag, members]) => [
    el('h3', {}, tag),
    ...members.map(({ operationId, method, path, summary }) =>
      el(
        'a',
        { href: `#${operationId}`, title: summary, 'aria-current': operationId === current && 'page' },
        el('span', { class: `method ${method}` }, method),
        el('span', {}, path.replace(/^\/api\//, '')),
      ),
    ),
  ]);
  find('operations').replaceChildren(...(groups.length > 0 ? groups : [el('p', { class: 'quiet' }, 'nothing fits')]));
}

/** A schema as an indented outline; references are followed once. */
function outline(schema, api, depth = 0, seen = []) {
  const indent = '  '.repeat(depth + 1);
  const reference = schema?.$ref;
  if (reference) {
    const name = reference.split('/').at(-1);
    return seen.includes(reference) ? name : outline(api.components.schemas[name], api, depth, [...seen, reference]);
  }
  if (schema?.allOf) return schema.allOf.map((part) => outline(part, api, depth, seen)).join(' and ');
  if (schema?.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema?.const !== undefined) return JSON.stringify(schema.const);
  if (schema?.items) return `[ ${outline(schema.items, api, depth, seen)} ]`;
  if (!schema?.properties) return [schema?.type ?? 'any'].flat().join(' | ');
  const required = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties).map(
    ([name, member]) => `${indent}${name}${required.has(name) ? '' : '?'}: ${outline(member, api, depth + 1, seen)}`,
  );
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
}

function parameterRow({ name, in: place, required, description, schema }) {
  const type = schema.enum ? schema.enum.join(' | ') : [schema.type ?? ''].flat().join(' | ');
  const input = el('input', { name, 'data-in': place, 'aria-label': name, placeholder: schema.default ?? '' });
  return el(
    'tr',
    {},
    el('td', {}, el('code', {}, name), required ? ' *' : '', el('br'), el('small', {}, `${place}, ${type}`)),
    el('td', {}, input),
    el('td', {}, ...rich(description ?? '')),
  );
}

function responseSection(status, { description, content = {} }, api) {
  const bodies = Object.entries(content).flatMap(([type, { schema, example }]) => [
    el('p', { class: 'quiet' }, type),
    schema ? el('pre', {}, outline(schema, api)) : '',
    example === undefined ? '' : el('pre', {}, pretty(example)),
  ]);
  const isError = Number(status) >= 400;
  return el(
    'details',
    {},
    el('summary', {}, el('strong', { class: isError ? 'failed' : 'ok' }, status), ' ', ...rich(description)),
    ...bodies,
  );
}

function requestOf(form, { method, path }) {
  const query = new URLSearchParams();
  const headers = {};
  let target = path;
  for (const input of form.querySelectorAll('input[data-in]')) {
    const { name, value } = input;
    if (input.dataset.in === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value));
    else if (value === '') continue;
    else if (input.dataset.in === 'query') query.set(name, value);
    else headers[name] = value;
  }
  const body = form.querySelector('textarea')?.value;
  const type = form.querySelector('select')?.value;
  if (type) headers['content-type'] = type;
  return { method, url: query.size > 0 ? `${target}?${query}` : target, headers, body };
}

function commandOf({ method, url, headers, body }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [
    `curl -X ${method} ${quoted(location.origin + url)}`,
    '-H "Authorization: Bearer $SVC_TOKEN"',
    ...lines,
    ...(body === undefined ? [] : [`--data-binary ${quoted(body)}`]),
  ].join(' \\\n  ');
}

async function send(request, panel) {
  const token = find('token').value.trim();
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` };
  const started = performance.now();
  panel.replaceChildren(el('p', { class: 'quiet' }, 'asking …'));
  try {
    const { method, url, headers, body } = request;
    const answer = await fetch(url, { method, headers: { ...headers, ...authorization }, body, cache: 'no-store' });
    const text = await answer.text();
    const took = Math.round(performance.now() - started);
    const isJson = /json|\.oas/.test(answer.headers.get('content-type') ?? '');
    panel.replaceChildren(
      el(
        'h3',
        {},
        el('span', { class: answer.ok ? 'ok' : 'failed' }, `${answer.status} ${answer.statusText}`),
        ` in ${took} ms`,
      ),
      el('pre', {}, [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')),
      el('pre', {}, isJson && text !== '' ? pretty(JSON.parse(text)) : text),
    );
  } catch (error) {
    panel.replaceChildren(el('p', { class: 'failed' }, `No answer: ${error.message}`));
  }
}

function bodySection(requestBody) {
  if (!requestBody) return [];
  const types = Object.keys(requestBody.content);
  const example = requestBody.content[types[0]].example;
  return [
    el('h3', {}, 'Body ', el('small', {}, requestBody.description ?? '')),
    el('select', { 'aria-label': 'Content type' }, ...types.map((type) => el('option', {}, type))),
    el('textarea', { rows: '14', spellcheck: 'false', 'aria-label': 'Body' }, pretty(example ?? '')),
  ];
}

function drawOperation(operation, api) {
  const { method, path, summary, description, parameters = [], requestBody, responses } = operation;
  const panel = el('section', { 'aria-live': 'polite' });
  const command = el('pre', {});
  const form = el(
    'form',
    {
      input: () => {
        command.textContent = commandOf(requestOf(form, operation));
      },
      submit: (event) => {
        event.preventDefault();
        void send(requestOf(form, operation), panel);
      },
    },
    parameters.length > 0 ? el('h3', {}, 'Parameters') : '',
    el('table', {}, ...parameters.map(parameterRow)),
    ...bodySection(requestBody),
    el('p', {}, el('button', {}, 'Send')),
  );
  command.textContent = commandOf(requestOf(form, operation));
  find('operation').replaceChildren(
    el('h2', {}, el('span', { class: `method ${method}` }, method), ' ', el('code', {}, path)),
    el('p', {}, ...rich(description ? `${summary}. ${description}` : summary)),
    form,
    panel,
    el('h3', {}, 'As a command'),
    command,
    el('h3', {}, 'Answers'),
    ...Object.entries(responses).map(([status, response]) => responseSection(status, response, api)),
  );
  document.title = `${method} ${path} · svc`;
}

async function start() {
  const api = await (await fetch('/openapi.json')).json();
  const operations = operationsOf(api);
  const search = find('search');
  const draw = () => {
    const wanted = location.hash.slice(1);
    drawList(operations, search.value);
    drawOperation(operations.find(({ operationId }) => operationId === wanted) ?? operations[0], api);
  };
  search.addEventListener('input', () => drawList(operations, search.value));
  addEventListener('hashchange', () => {
    draw();
    find('operation').focus();
    scrollTo(0, 0);
  });
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || /INPUT|TEXTAREA/.test(document.activeElement?.tagName ?? '')) return;
    event.preventDefault();
    search.focus();
  });
  draw();
}

await start();

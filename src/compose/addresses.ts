/** Listen addresses as text, and as the URL under which a person on this machine reaches them. */

type Address = { readonly host: string; readonly port: number };

export const addressText = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export const localUrl = ({ host, port }: Address): string =>
  `http://${addressText({ host: everywhere[host] ?? host, port })}`;

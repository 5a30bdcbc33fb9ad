/** Numbers as Go prints them: floats in `%e`, `%f` and `%g`, shortest or with a precision. */

/** Exponents have two digits at least, and always a sign. */
const goExponent = (text: string): string => text.replace(/e([+-])(\d)$/, 'e$10$2');

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? undefined : value > 0 ? '+Inf' : '-Inf';
}

const minus = (value: number): string => (Object.is(value, -0) ? '-' : '');

/** As `%v` does: the shortest digits that name the number, with an exponent from a million on. */
export function floatText(value: number): string {
  const said = special(value);
  if (said !== undefined) return said;
  const exponential = value.toExponential();
  const exponent = Number(exponential.slice(exponential.indexOf('e') + 1));
  if ((exponent < -4 && value !== 0) || exponent >= 6) return minus(value) + goExponent(exponential);
  return minus(value) + value.toString();
}

/** `precision` undefined: six for `%e` and `%f`, shortest for `%g`. At most 100. */
export function formatFloat(value: number, verb: 'e' | 'f' | 'g', precision: number | undefined): string {
  const said = special(value);
  if (said !== undefined) return said;
  if (verb === 'e') return minus(value) + goExponent(exponential(value, precision ?? 6));
  if (verb === 'f') return minus(value) + fixed(value, precision ?? 6);
  if (precision === undefined) return floatText(value);
  const digits = Math.max(1, precision);
  const rounded = exponential(value, digits - 1);
  const exponent = Number(rounded.slice(rounded.indexOf('e') + 1));
  if (exponent < -4 || exponent >= digits) return minus(value) + goExponent(rounded.replace(/\.?0+e/, 'e'));
  const plain = fixed(value, Math.max(0, digits - 1 - exponent));
  return minus(value) + (plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain);
}

/** `toFixed` gives up at 1e21. */
function fixed(value: number, precision: number): string {
  const fraction = precision > 0 ? `.${'0'.repeat(precision)}` : '';
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${fraction}`;
  const exact = value.toFixed(Math.min(100, precision + moreDigits));
  return toEven(exact.replace('.', ''), precision - Math.min(100, precision + moreDigits))
    ? exact.slice(0, exact.indexOf('.') + (precision > 0 ? precision + 1 : 0))
    : value.toFixed(precision);
}

function exponential(value: number, precision: number): string {
  const more = Math.min(100, precision + moreDigits);
  const [digits = '', exponent = ''] = value.toExponential(more).split('e');
  if (!toEven(digits.replace('.', ''), precision - more)) return value.toExponential(precision);
  return `${digits.slice(0, digits.indexOf('.') + (precision > 0 ? precision + 1 : 0))}e${exponent}`;
}

/** A half that ends so has no more of them. */
const moreDigits = 60;

/** Whether exactly a half would be cut off behind an even digit: Go cuts it, JavaScript goes up. */
const toEven = (digits: string, count: number): boolean =>
  count < 0 && /^50*$/.test(digits.slice(count)) && /[02468]$/.test(digits.slice(0, count));

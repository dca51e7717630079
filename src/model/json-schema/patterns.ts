/** The patterns of built-in fields and types. */

/** Text without line breaks. */
export const singleLine = '^[^\\r\\n]*$'

const characters = "[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}"
const octet = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
/** The last label of a name is not a number: WHATWG URL reads such a host as an IPv4 address. */
const lastLabel = '(?!(?:[0-9]+|0[xX][0-9A-Fa-f]*)\\.?(?:[:/?#]|$))[A-Za-z0-9_-]{1,63}'
const host = `(?:(?:[A-Za-z0-9_-]{1,63}\\.)*${lastLabel}\\.?|${octet}(?:\\.${octet}){3}|\\[[0-9A-Fa-f:.]+\\])`
const port = '(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})'

/**
 * An absolute http or https URL (RFC 9110, 4.2) with a host that is not empty, as RFC 3986 writes it and WHATWG URL
 * reads it: no encoded host, and no colon without a port.
 */
export const webUrl =
  `^[Hh][Tt][Tt][Pp][Ss]?://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?${host}(?::${port})?` +
  `(?:/(?:${characters})*)?(?:\\?(?:${characters}|\\?)*)?(?:#(?:${characters}|\\?)*)?$`

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"

/** A dot-atom at a domain of two labels or more (RFC 5321, 4.1.2), in ASCII; no quoted local part. */
export const mailbox = `^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?:${label}\\.)+${label}$`

const writtenLabel = '[A-Za-z0-9\u00a1-\uffff](?:[A-Za-z0-9\u00a1-\uffff-]{0,61}[A-Za-z0-9\u00a1-\uffff])?'

/** A mailbox as people write it: the labels of an international domain are in Unicode (RFC 5890, 2.3.2.1). */
export const writtenMailbox = `^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?:${writtenLabel}\\.)+${writtenLabel}$`

/**
 * Control characters, line breaks, invisible marks and marks that change the direction of text. U+200C and U+200D are
 * allowed: Persian, Indic scripts and emoji need them.
 */
const invisible =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180b-\\u180e\\u200b\\u200e\\u200f' +
  '\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb'

/** A single line without invisible characters. */
export const visibleLine = `^[^${invisible}]*$`

/** The characters that `visibleLine` refuses. */
export const invisibleCharacters = new RegExp(`[${invisible}]`, 'gu')

/** 1 to 65535, without leading zeros. */
const canonicalPort =
  ':(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'

/** The characters of RFC 3986, 2, without `#`. Brackets are allowed, since many clients use them in queries. */
const rest = "[!$%&'()*+,./0-9:;=?@A-Z\\[\\]_a-z~-]*"

/**
 * RFC 8252, 7 and RFC 9700, 2.1: https, http on a loopback address, or a private-use scheme, which contains a dot.
 * No fragment (RFC 6749, 3.1.2) and no user name. Lower case up to the path, since URIs are compared exactly.
 */
export const redirectUriPattern =
  `^(?:https://(?:[a-z0-9-]+(?:\\.[a-z0-9-]+)*\\.?|\\[[0-9a-f:.]+\\])(?:${canonicalPort})?(?:[/?]${rest})?` +
  `|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?:${canonicalPort})?(?:[/?]${rest})?` +
  `|[a-z][a-z0-9+-]*(?:\\.[a-z0-9+-]+)+:/${rest})$`

/**
 * Browsers of users load it. So the host is neither an IP address nor a name on the user's machine or network, where even
 * a GET could have an effect.
 */
export const publicPictureUrl =
  '^https://(?![^/?:]*\\.(?:local|localhost|internal|lan|home|intranet)(?:[:/?]|$))' +
  '(?:[A-Za-z0-9-]{1,63}\\.)+[A-Za-z][A-Za-z0-9-]{0,62}(?::[0-9]{1,5})?(?:[/?][!-"$-\\[\\]-~]*)?$'

/** The message of each pattern, which follows "must". */
export const patternMessages: ReadonlyMap<string, string> = new Map([
  [singleLine, 'be a single line'],
  [writtenMailbox, 'be an e-mail address, e.g. ada@example.com'],
  [webUrl, 'be an http or https URL, e.g. https://example.com/page'],
  [
    visibleLine,
    'be a single line without control characters, invisible marks, and marks that change the direction of text',
  ],
  [
    redirectUriPattern,
    'be an https address, an http address of localhost, 127.0.0.1 or [::1], or an address with a dot in its scheme, ' +
      'e.g. com.example.app:/callback; in lower case up to the path, with a port of at most 65535, without spaces, ' +
      'a fragment or a user name',
  ],
  [publicPictureUrl, 'be an https address with a public host name, e.g. https://example.com/logo.png'],
])

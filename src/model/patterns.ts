/** The patterns of Portico's own fields and types, and what each wants of a text, after "must". */

/** No line breaks. */
export const line = '^[^\\r\\n]*$'

export const web = '^https?://'

/**
 * RFC 8252, 7 and RFC 9700, 2.1: https, a loopback over http, or a scheme of the app's own, which has a dot.
 * No fragment (RFC 6749, 3.1.2), no user name.
 */
export const redirection =
  '^(?:https://[A-Za-z0-9.:\\[\\]-]+(?:[/?][!-"$-\\[\\]-~]*)?' +
  '|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::[0-9]{1,5})?(?:[/?][!-"$-\\[\\]-~]*)?' +
  '|[a-z][a-z0-9+-]*(?:\\.[a-z0-9+-]+)+:/[!-"$-\\[\\]-~]*)$'

/**
 * Browsers of users load it: no host by number, of this machine or of a network that only they can reach,
 * where loading alone could do something.
 */
export const publicPicture =
  '^https://(?![^/?:]*\\.(?:local|localhost|internal|lan|home|intranet)(?:[:/?]|$))' +
  '(?:[A-Za-z0-9-]{1,63}\\.)+[A-Za-z][A-Za-z0-9-]{0,62}(?::[0-9]{1,5})?(?:[/?][!-"$-\\[\\]-~]*)?$'

export const inWords: ReadonlyMap<string, string> = new Map([
  [line, 'be a single line'],
  [web, 'begin with http:// or https://'],
  [
    redirection,
    'be an https address, an http address of localhost, 127.0.0.1 or [::1], or one of a scheme with a dot, ' +
      'e.g. com.example.app:/callback; without a fragment and without a user name',
  ],
  [publicPicture, 'be an https address with a public host name, e.g. https://example.com/logo.png'],
])

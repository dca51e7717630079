/** Mutants of the HTTP server. */
import { type Mutant, mutantsOf } from './mutant.ts'

export const http: readonly Mutant[] = [
  ...mutantsOf(
    'server/http/client-address',
    ['server/http/client-address'],
    [
      ['a long header is read', ' || forwarded.length > 2000', ''],
      [
        'a mapped address is another one',
        "address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address",
        'address',
      ],
      ['one proxy too many is trusted', 'index < trustProxy', 'index <= trustProxy'],
      ['the client’s own entries come first', '[socket, ...addresses.reverse()]', '[socket, ...addresses]'],
      ['a text that is no address is one', " || isIP(path[index + 1] ?? '') === 0", ''],
    ],
  ),
  ...mutantsOf(
    'server/http/request-target',
    ['server/http/request-target', 'server/http/http'],
    [
      [
        'a URL with user information is served',
        '([^/?#@]+)',
        '([^/?#]+)',
        'no host contains `@`, which is checked next',
      ],
      ['a fragment is part of the path', "if (url.includes('#')) {", "if (url.includes('\\0')) {"],
      ['the host of a URL is ignored', '  req.headers.host = authority\n', ''],
      [
        'HTTP/1.0 may have a transfer coding',
        "if (httpVersion === '1.0' && coding === undefined) return",
        "if (httpVersion === '1.0') return",
      ],
      ['a comma is part of a host', "!$&'()*+;=-]", "!$&'()*+,;=-]"],
    ],
  ),
  ...mutantsOf(
    'server/http/body',
    ['server/http/http'],
    [
      [
        'a body of exactly the limit is refused',
        'if (length > limitBytes) reject',
        'if (length >= limitBytes) reject',
      ],
      [
        'a body in chunks has no bound',
        'if (length > limitBytes) return fail',
        'if (length < 0) return fail',
      ],
      [
        'an incomplete body is whole',
        'const abort = () => fail(incompleteBody())',
        'const abort = () => finish()',
      ],
    ],
  ),
  ...mutantsOf(
    'server/http/request-id',
    ['server/http/http#X-Request-Id'],
    [
      ['a credential is logged as an id', " && !clientId.includes('pk_')", ''],
      ['an id may be of any form', ' && wellFormed.test(clientId)', ''],
      ['ids repeat', '  count++\n', ''],
    ],
  ),
  ...mutantsOf(
    'server/http/slow-clients',
    ['server/http/admission#client'],
    [
      ['a client may read forever', 'if (deadline < now) this', 'if (deadline < 0) this'],
      ['a long response must be read as fast as a short one', ' + (unreadBytes / bytesPerSecond) * 1000', ''],
      [
        'unread responses have no bound',
        'if (this.#bytes <= this.#options.maxBytes) return',
        'if (this.#bytes >= 0) return',
      ],
    ],
  ),
  ...mutantsOf(
    'server/http/admission',
    ['server/http/admission', 'server/http/refusals'],
    [
      [
        'health checks wait',
        'if (isHealthCheck(exchange.path)) this',
        'if (exchange.path === undefined) this',
      ],
      [
        'refused clients are read at once',
        'this.#refusedInWindow > maxRefusalsPerWindow && ',
        'this.#refusedInWindow < 0 && ',
      ],
      ['a WebSocket is opened under overload', 'this.shedder.isOverloaded || this', 'this'],
    ],
  ),
  ...mutantsOf(
    'server/http/load-shedder',
    ['server/http/load-shedder', 'server/http/admission'],
    [
      [
        'a client that has gone is served',
        'request === undefined || request.isGone',
        'request === undefined',
      ],
      ['a half-closed client is refused', '(this.#isOverloaded && request.hasEnded)', 'request.hasEnded'],
      [
        'an overload ends in the middle',
        '      if (remainingMs > 0) return this.#endOverloadAfter(remainingMs)\n',
        '',
      ],
      [
        'a request waits for as long as it takes',
        'if (this.length * this.#costMs > maxDelayMs',
        'if (this.length < 0',
      ],
      ['requests are served in the reverse order', 'this.#queue.shift()', 'this.#queue.pop()'],
    ],
  ),
]

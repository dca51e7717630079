/** Opens the pages at `/` and `/docs` with the settings of the service and the sessions of visitors. */

import type { ExplorerFrame } from '../../../api/graphql/transports/graphiql.ts'
import { referenceDocument } from '../../../api/rest/openapi/reference/reference.ts'
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Call } from '../../../base/call.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import type { PageLanguage } from '../../../identity/mail/page-texts.ts'
import type { SessionCookieReader } from '../../../identity/session-cookie.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import { renderPage, type Visitor } from '../../../web/pages/frame/layout.ts'
import { explorerPage } from '../../../web/portal/explorer.ts'
import { createPortal, type Portal } from '../../../web/portal/portal.ts'
import { firstQuery } from '../../../web/portal/quick-start.ts'
import type { Settings } from '../../config/config.ts'
import { frameOf } from '../oauth/account-pages.ts'

interface PortalParts {
  readonly model: Model
  readonly settings: Settings
  readonly issuer: () => string
  readonly sessions: SessionCookieReader
  readonly mail: Mailer
}

function visitorOf(principal: Principal | null): Visitor {
  if (principal === null) return 'anyone'
  return principal.access.role === 'admin' ? 'admin' : 'user'
}

/** The language of the user who is signed in, otherwise that of the browser. */
function languageOf({ sessions, mail }: Pick<PortalParts, 'sessions' | 'mail'>, { headers }: Call) {
  const accepted = headers['accept-language']
  return then(sessions.signedIn(headers), (principal): Awaitable<PageLanguage> => {
    const userId = principal?.userId ?? undefined
    return userId === undefined ? mail.pageLanguage(accepted) : mail.pageLanguageOf(userId, accepted)
  })
}

export function openPortal({ model, settings, issuer, sessions, mail }: PortalParts): Portal {
  let document: JsonSchema | undefined
  return createPortal({
    frame: frameOf(settings),
    model,
    document: () => (document ??= referenceDocument(model, settings.baseUrl, issuer())),
    guides: settings['docs.guides'],
    baseUrl: settings.baseUrl,
    origin: issuer,
    visitorOf: ({ headers }) => then(sessions.signedIn(headers), visitorOf),
    languageOf: call => languageOf({ sessions, mail }, call),
  })
}

/** The frame around GraphiQL. */
export function explorerFrame(options: Omit<PortalParts, 'issuer'>): ExplorerFrame {
  const { settings, model, sessions } = options
  const frame = frameOf(settings)
  const { logo } = frame.theme
  return (call, parts) =>
    then(sessions.signedIn(call.headers), principal =>
      then(languageOf(options, call), language => ({
        html: renderPage(frame, explorerPage(parts, firstQuery(model), visitorOf(principal)), language),
        images: logo === undefined ? [] : [new URL(logo).origin],
      })),
    )
}

/** Who is signed in. */
import { ApiError } from 'portico/client'
import { useEffect, useState } from 'react'
import { api, session, type User } from './api.ts'

/** Ends a sign-in that this page was opened by, and reads the user. */
async function arrive(): Promise<User | undefined> {
  await session.handleRedirect()
  return session.isSignedIn ? await api.me() : undefined
}

export function useMe() {
  const [me, setMe] = useState<User>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    arrive().then(setMe, error => {
      // Whoever cancels at the service's page is just not signed in.
      const isCancelled = error instanceof ApiError && error.code === 'ACCESS_DENIED'
      if (!isCancelled) setFault(String(error.message))
    })
  }, [])
  return {
    me,
    fault,
    signIn: () => session.signIn().catch(error => setFault(String(error.message))),
    async signOut() {
      setMe(undefined)
      await session.signOut()
    },
  }
}

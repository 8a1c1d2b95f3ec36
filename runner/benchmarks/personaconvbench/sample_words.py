"""The word lists of the synthetic corpus: plain English of our own, sorted by what a sentence needs."""

from __future__ import annotations

TOPICS: dict[str, tuple[tuple[str, str], str]] = {
    "worldnews": (
        ("worldnews", "geopolitics"),
        "the ceasefire, the summit, the border crossing, the trade deal, the election abroad, the "
        "embassy, the aid convoy, the harbor blockade, the refugee camp, the peace plan, the grain "
        "shipment, the sanctions list, the foreign minister, the pipeline, the currency slide, the "
        "state broadcaster, the drone footage, the coalition, the neighboring country, the treaty, the "
        "central bank, the protest march, the exit poll, the coast guard",
    ),
    "science": (
        ("science", "askscience"),
        "the control group, the sample size, the telescope, the vaccine trial, the fossil record, the "
        "enzyme, the carbon cycle, the error bar, the peer review, the gene drive, the ocean current, "
        "the lab protocol, the measurement, the follow-up study, the press release, the dark matter "
        "halo, the soil sample, the placebo, the particle detector, the ice core, the field season, the "
        "blood marker, the simulation, the preprint",
    ),
    "politics": (
        ("politics", "neutralpolitics"),
        "the budget vote, the committee hearing, the primary, the filibuster, the voter roll, the town "
        "hall, the campaign ad, the district map, the tax bracket, the veto, the running mate, the "
        "court ruling, the poll average, the infrastructure bill, the ballot measure, the press office, "
        "the lobby, the swing county, the party line, the debate stage, the county clerk, the subsidy, "
        "the recall, the transition team",
    ),
    "technology": (
        ("technology", "learnprogramming"),
        "the firmware, the battery, the privacy setting, the search page, the subscription, the "
        "compiler, the router, the open source fork, the data center, the login screen, the app store, "
        "the charging port, the code review, the unit test, the recommendation feed, the server bill, "
        "the old laptop, the driver, the stack trace, the build script, the screen reader, the rollout, "
        "the keyboard, the backup",
    ),
    "gaming": (
        ("gaming", "patientgamers"),
        "the final boss, the skill tree, the map, the loot drop, the tutorial, the save file, the "
        "soundtrack, the side quest, the frame rate, the early access build, the controller, the "
        "matchmaking, the remake, the stealth section, the crafting menu, the season pass, the level "
        "design, the camera, the speedrun, the difficulty slider, the co-op mode, the opening hour, the "
        "expansion, the lobby music",
    ),
    "life": (
        ("casualconversation", "personalfinance"),
        "the morning walk, the landlord, the night shift, the family dinner, the savings account, the "
        "commute, the new apartment, the grocery bill, the neighbor, the wedding, the garden, the gym, "
        "the first job, the credit card, the old friend, the road trip, the bus stop, the kitchen "
        "table, the phone call, the quiet weekend, the dentist, the spare room, the birthday, the lease",
    ),
    "movies": (
        ("movies", "truefilm"),
        "the second act, the opening shot, the sequel, the score, the director, the casting, the long "
        "take, the villain, the script, the trailer, the ending, the lighting, the dialogue, the car "
        "chase, the supporting role, the premiere, the practical effects, the editing room, the "
        "flashback, the screening, the close-up, the theatrical cut, the side character, the title "
        "sequence",
    ),
    "books": (
        ("books", "fantasy"),
        "the first chapter, the narrator, the translation, the prologue, the magic system, the "
        "paperback, the audiobook, the slow middle, the epilogue, the villain, the prose, the library "
        "copy, the series, the unreliable diary, the map in the front, the book club, the footnotes, "
        "the short story, the sequel, the dialogue, the setting, the love story, the cover, the last "
        "page",
    ),
    "entrepreneur": (
        ("entrepreneur", "smallbusiness"),
        "the first client, the landing page, the invoice, the cash flow, the co-founder, the pitch, the "
        "refund, the supplier, the price increase, the newsletter, the storefront, the tax form, the "
        "slow season, the contract, the side project, the warehouse, the free trial, the hiring plan, "
        "the ad budget, the accountant, the delivery van, the second location, the waiting list, the "
        "business card",
    ),
    "art": (
        ("art", "learnart"),
        "the composition, the underpainting, the sketchbook, the palette, the color study, the negative "
        "space, the canvas, the life drawing class, the brush pen, the gallery wall, the shading, the "
        "perspective, the reference photo, the watercolor paper, the focal point, the commission, the "
        "glaze, the line work, the portrait, the background, the varnish, the thumbnail sketch, the "
        "charcoal, the frame",
    ),
}
"""Domain: its two true subreddits, and noun phrases that the first shares only in part with the second."""

PLAIN = (
    "I think {n} matters more than {m}.",
    "For me {n} was {a} from the start.",
    "You can tell that {n} came first and {m} was added later.",
    "The way {n} works looks {a} until you see {m} up close.",
    "Nobody talks about {n}, but it decides what happens with {m}.",
    "I spent a whole week on {n} and it turned out {a}.",
    "My brother works with {n} and says the same thing.",
    "We had a similar case with {n} two years ago.",
    "It depends on {n} and on how {a} you want the result to be.",
    "There is {b} side to {n} that gets ignored.",
    "Once you understand {n}, the rest of it feels {a}.",
    "If {n} changes, then {m} has to change as well.",
    "I would start with {n} and leave {m} for later.",
    "What surprised me was how {a} it felt next to {m}.",
    "The numbers for {n} are {a}, the numbers for {m} are not.",
    "{b} answer needs more context about {n}.",
    "Most of what I know about {n} comes from working around {m}.",
    "That part about {n} reads {a} to me.",
    "I keep coming back to {n} whenever this comes up.",
    "Last month somebody explained {n} to me in {b} way.",
    "It took me a long time to see why {n} is so {a}.",
    "Between {n} and {m} I would pick the first every time.",
    "The older version of {n} was more {a}, in my view.",
    "You learn a lot about {m} by watching {n} for a while.",
    "Somewhere between {n} and {m} there is {b} compromise.",
    "I asked about {n} in another place and got {b} reply.",
    "Looking back, {n} was the {a} part of the story.",
    "People who care about {n} usually end up caring about {m}.",
)
WARM = (
    "Thank you for writing about {n}, this helped me a lot.",
    "Glad to hear that {n} went well for you.",
    "This is the most {a} comment about {n} I have read in weeks.",
    "Good point about {n}, I had missed it completely.",
    "I am happy to share my notes on {n} if that helps.",
    "You explained {n} better than I could have.",
    "That is a kind way to look at {n}.",
    "Congratulations on {n}, that is {b} result.",
    "Welcome, and do ask if {n} gives you trouble.",
    "I love how {a} it sounds when you describe {n}.",
)
HARSH = (
    "That is wrong, and anyone who has seen {n} knows it.",
    "Stop pretending that {n} is {a}.",
    "You clearly never looked at {n} before posting this.",
    "What a waste of time, {n} was never the issue.",
    "Nobody asked for another lecture about {n}.",
    "I am tired of people defending {n} without reading anything.",
    "This is a lazy take on {n} and you should know better.",
    "Your whole argument about {n} falls apart once you mention {m}.",
    "Believe whatever you like about {n}, it is still nonsense.",
    "If you think {n} is {a}, I cannot help you.",
)
TITLES = (
    "What changed your mind about {n}?",
    "Is {n} still worth the trouble compared with {m}?",
    "I finally understand {n} and it is {a}",
    "Why does everyone treat {n} as {a}?",
    "A short report about {n} after one year",
    "How would you explain {n} to a beginner?",
    "New details about {n} and {m}",
    "Unpopular opinion: {n} is more {a} than {m}",
    "Looking for advice on {n} before I touch {m}",
    "The {a} truth about {n}",
    "Can we talk about {n} for a minute?",
    "{n} in one picture",
)
OPENERS = (
    "Honestly,", "To be fair,", "In my experience,", "As far as I know,", "For what it's worth,", "Look,",
    "Well,", "I mean,", "Funny enough,", "Strictly speaking,", "Speaking as a nurse,",
    "Speaking as a teacher,", "Coming from Ohio,", "As a parent,", "Frankly,", "Not gonna lie,",
    "Small correction:", "Counterpoint:", "Respectfully,", "Long story short,", "Generally speaking,",
    "At the end of the day,", "Hmm,", "Okay so", "Right,", "My guess:", "On a side note,", "Historically,",
    "In theory,", "Between you and me,",
)  # fmt: skip
CLOSERS = (
    "Just my two cents.", "Hope that helps.", "Your mileage may vary.", "But what do I know.",
    "Anyway, carry on.", "Take care.", "Cheers.", "Change my mind.", "Make of that what you will.",
    "That's all I have.", "Happy to be corrected.", "Ask me how I know.", "End of story.",
    "Time will tell.", "Draw your own conclusions.", "Source: twenty years of doing it.",
    "Good luck out there.", "We'll see.", "I rest my case.", "Food for thought.", "Back to work now.",
    "Have a good one.", "Peace.", "So it goes.",
)  # fmt: skip
ADJECTIVES = (
    "careful", "clumsy", "honest", "fragile", "elegant", "boring", "brilliant", "shallow", "generous",
    "stubborn", "tidy", "messy", "patient", "rushed", "subtle", "obvious", "strange", "familiar",
    "expensive", "cheap", "reliable", "shaky", "bold", "timid", "bright", "gloomy", "practical", "absurd",
    "gentle", "brutal", "modern", "dated", "plausible", "doubtful", "efficient", "wasteful", "humble",
    "arrogant", "clever", "naive", "warm", "cold", "solid", "hollow", "vivid", "dull", "serious",
    "playful", "complete", "partial", "quiet", "loud", "simple", "tangled", "fair", "unfair", "hopeful",
    "bleak", "useful", "pointless",
)  # fmt: skip
EMOJI = ("😂", "🙂", "👍", "🔥", "🤔", "😭", "🎉", "🙃", "❤️", "🤷‍♀️", "👀", "✨")
ENDS = (".", ".", ".", "!", "...", "!!", " :)")
NAME_FRONT = (
    "quiet", "amber", "rusty", "polar", "velvet", "copper", "mellow", "brisk", "hollow", "lucky", "paper",
    "winter", "marble", "cedar", "dusty", "crimson", "tidal", "orbit", "static", "gentle", "neon",
    "silent", "saffron", "granite",
)  # fmt: skip
NAME_BACK = (
    "harbor", "otter", "lantern", "meadow", "falcon", "kettle", "pixel", "walrus", "compass", "thistle",
    "anchor", "badger", "canyon", "pencil", "raven", "teapot", "willow", "magnet", "lobster", "piano",
    "glacier", "cactus", "beacon", "turnip",
)  # fmt: skip
EDITS_GOOD = ("Edit: thanks for the gold!", "EDIT: wow, this got a lot of attention", "Edit 2: front page, hi mom")
EDITS_BAD = ("Edit: why am I being downvoted?", "EDIT - downvote all you want", "**Edit**: ok, I get it, bad take")
EDITS_PLAIN = ("Edit: typo", "edit: spelling", "ETA: forgot the link", "Update: it works now", "*Edit:* formatting")

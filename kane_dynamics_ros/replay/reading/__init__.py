"""rosbag2 files to arrays: storage, raw messages by the thousand, joint states."""
